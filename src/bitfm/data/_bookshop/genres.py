"""The bookshop's genres, with the parts their titles and blurbs are built from."""

from __future__ import annotations

from dataclasses import dataclass

from bitfm.data._bookshop.themes import Taste, split

__all__ = ["GENRES", "Genre"]


@dataclass(frozen=True)
class Genre:
    """A genre: where it lies in taste, how much of it is published, and its words.

    `titles` are templates over `role`, `thing`, `place` and `mood`; a blurb opens with `hero`, `deed` and
    `setting`.
    """

    name: str
    taste: Taste
    share: float
    themes: tuple[str, ...]
    titles: tuple[str, ...]
    role: tuple[str, ...]
    thing: tuple[str, ...]
    place: tuple[str, ...]
    mood: tuple[str, ...]
    hero: tuple[str, ...]
    deed: tuple[str, ...]
    setting: tuple[str, ...]


def _genre(name: str, taste: Taste, share: float, **parts: str) -> Genre:
    return Genre(name, taste, share, **{part: split(text) for part, text in parts.items()})


GENRES = (
    _genre(
        "Crime",
        (2, -1, -1, 1, 0, 1),
        1.5,
        themes="revenge, secrets, money, justice, village, winter",
        titles="The {mood} {role} of {place}, Death at {place}, The {role}'s {thing}, The {place} "
        "Murders, The {mood} {role}, What the {role} Knew, A Body for the {role}, The {thing} of {place}, "
        "{mood} {thing}",
        role="Coroner, Verger, Locksmith, Widow, Night Porter, Beekeeper, Organist, Pawnbroker, Magistrate, Bookmaker",
        thing="Alibi, Confession, Ledger, Verdict, Witness, Motive, Inheritance, Silence, Last Will, Missing Hour",
        place="Gallows Lane, Cutter's Wharf, Ravensmoor, Tollgate House, Blackwater Lock, Number Nine, Saltmarsh Halt",
        mood="Crooked, Silent, Poisoned, Borrowed, Reluctant, Perfect, Unsigned, Second, False, Respectable",
        hero="a sleepless inspector, a disgraced barrister, a village constable, a retired forger, an insurance clerk",
        deed="reopens the case everyone agreed to forget, finds one body too many, suspects the choir, "
        "has until Friday to prove the impossible, receives a confession from a dead man, counts the "
        "spoons twice",
        setting="a fog-bound harbour town, a hotel cut off by snow, the last week of the assizes, a "
        "street of good reputation",
    ),
    _genre(
        "Fantasy",
        (0, 2, 0, -2, 0, 1),
        1.2,
        themes="magic, friendship, war, travel, youth, animals",
        titles="The {mood} {thing} of {place}, The {role} of {place}, {thing} and {mood} Fire, The {mood} "
        "{thing}, A {thing} for {place}, The {role}'s {thing}, Daughter of the {mood} {thing}, The Road "
        "to {place}, {role} of the {mood} Court",
        role="Witch, Dragonkeeper, Oathbreaker, Hedge-Wizard, Bellringer, Queen, Mapmaker, Thornwright, Gryphon-Rider",
        thing="Crown, Lantern, Prophecy, Spell, Sword, Tower, Raven, Covenant, Moon, Riddle, Gate",
        place="Eldermere, the Ninth Vale, Wyrmhollow, Tal Caradh, the Glass Mountains, Ashenwood, Low Faerie",
        mood="Hollow, Silver, Thirteenth, Unspoken, Emerald, Sleeping, Thorned, Wandering, Starless, Gilded",
        hero="an apprentice with no talent, a runaway princess, an elderly dragon, a goatherd, a disbarred wizard",
        deed="steals the wrong spellbook, must cross the mountains before the moons meet, inherits a "
        "haunted sword, makes a bargain in a language nobody speaks, wakes what sleeps beneath the keep, "
        "is chosen by mistake",
        setting="a kingdom without a king, the city of nine bells, a forest that moves at night, the year of two moons",
    ),
    _genre(
        "Science Fiction",
        (0, 2, -1, 0, 0, 1),
        1.0,
        themes="machines, travel, war, friendship, justice, money",
        titles="The {mood} {role} of {place}, {thing} Over {place}, The {mood} {thing}, The {role} of "
        "{place}, The Last {role}, {place} Is Burning, A {thing} for {place}, {mood} {thing}, The {role} "
        "Paradox",
        role="Navigator, Android, Cartographer, Terraformer, Xenologist, Stowaway, Archivist, Salvager, Clone",
        thing="Orbit, Signal, Starship, Algorithm, Colony, Gravity, Transmission, Horizon, Singularity, Airlock",
        place="Titan, Kepler Station, New Aberdeen, the Outer Ring, Proxima, Ceres, the Ninth Moon, Vega Prime",
        mood="Quantum, Drifting, Silent, Infinite, Recursive, Zero-G, Forgotten, Synthetic, Parallel, Distant",
        hero="a maintenance robot, a homesick pilot, a xenobiologist, the last human archivist, a ship's computer",
        deed="answers a signal four centuries late, discovers the colony is one person short, votes "
        "against the evacuation, learns to lie, falls out of orbit and into politics, restarts the wrong "
        "star",
        setting="a colony at the edge of the map, the third generation of the voyage, a city under glass",
    ),
    _genre(
        "Romance",
        (-1, 0, 2, 0, 1, 0),
        1.3,
        themes="love, secrets, food, village, music, youth",
        titles="The {mood} {role} of {place}, A {thing} in {place}, The {role} Next Door, A {mood} "
        "{thing} in {place}, Falling for the {role}, The {mood} {thing}, Love and the {role}, One {mood} "
        "{thing}, The {role}'s {thing}",
        role="Florist, Lighthouse Keeper, Duke, Violin Maker, Vet, Baker, Rival, Wedding Planner, "
        "Bookseller, Beekeeper",
        thing="Kiss, Summer, Promise, Wedding, Waltz, Love Letter, Proposal, Honeymoon, Heartbeat, Bouquet",
        place="Lisbon, Rosehip Bay, Willow Street, Tuscany, Honeysuckle Cottage, Paris, Larkspur Lane",
        mood="Unexpected, Tender, Second, Stolen, Hopeful, Midsummer, Improper, Smitten, Scandalous, Sunlit",
        hero="a florist who has sworn off weddings, a shy translator, a widowed vet, a rival baker, a runaway bride",
        deed="shares one umbrella too many, agrees to pretend for the summer, answers the wrong love "
        "letter, rents the room above the tea shop, misses the last ferry on purpose, keeps meeting the "
        "same stranger",
        setting="a seaside town out of season, the busiest June on record, an apartment with one key",
    ),
    _genre(
        "Historical",
        (1, 0, 0, 2, -1, 0),
        0.9,
        themes="war, secrets, love, sea, justice, grief",
        titles="The {mood} {role} of {place}, The {role}'s {thing}, The {role} of {place}, The {mood} "
        "{thing}, {place} Before the War, Letters from {place}, The Last {role} of {place}, A {thing} for "
        "the King",
        role="Clockmaker, Glassblower, Midwife, Silk Merchant, Cartwright, Printer, Governess, Herald, Falconer",
        thing="Winter, Apprentice, Tapestry, Regiment, Daughter, Treaty, Harvest, Siege, Petition, Coronation",
        place="Bruges, Old Samarkand, Constantinople, Vienna, Toledo, York, the Danube, Riga, Cadiz",
        mood="Gilded, Exiled, Vermilion, Forbidden, Long, Plague, Unfinished, Imperial, Candlelit, Mercenary",
        hero="a printer's widow, a young surveyor, a court physician, a deserter, a weaver's youngest daughter",
        deed="hides a heretic in the cellar, carries a letter across three frontiers, paints a queen "
        "without flattery, learns to read in secret, builds a clock for a city at war, keeps the only "
        "true account",
        setting="the spring of 1649, a besieged city, the last caravan season, a house on the wrong side of the river",
    ),
    _genre(
        "Horror",
        (2, 1, -1, -1, 0, 1),
        0.7,
        themes="ghosts, winter, secrets, grief, revenge, village",
        titles="The {mood} {role} of {place}, The {thing} Beneath {place}, The {mood} {thing}, Something "
        "in the {thing}, What Waits at {place}, The {role}'s {thing}, Do Not Wake the {role}, The {mood} "
        "House at {place}",
        role="Gravedigger, Sexton, Puppeteer, Taxidermist, Undertaker, Scarecrow, Dollmaker, Sleepwalker, Cellarman",
        thing="Cellar, Whispering, Marsh, Attic, Shadow, Teeth, Wallpaper, Crypt, Staircase, Hunger, Well",
        place="Dread Hollow, Hangman's Fen, Corpus Manor, Cold Abbey, Grimshaw, Marrow Street, Tallow Hill",
        mood="Rotting, Nameless, Weeping, Restless, Pale, Unburied, Seventh, Breathing, Bloodless, Hungry",
        hero="a night nurse, a sceptical surveyor, a family of five, a gravedigger's son, a sleepless translator",
        deed="hears the nursery bell ring again, digs one grave too deep, should not have bought the "
        "mirror, counts thirteen steps going down and twelve coming up, finds wet footprints, is told "
        "never to look up",
        setting="a house with one locked room, the hour after midnight, a parish without a churchyard",
    ),
    _genre(
        "Adventure",
        (0, 1, -1, 0, 1, 2),
        0.8,
        themes="sea, travel, money, friendship, animals, war",
        titles="The {mood} {thing} of {place}, The {thing} of {place}, Beyond {place}, The {mood} "
        "{thing}, Race to {place}, The {role}'s {thing}, {role} of the {mood} {thing}, Escape from "
        "{place}",
        role="Smuggler, Pilot, Pearl Diver, Stowaway, Treasure-Hunter, Whaler, Rope-Maker, Explorer, Balloonist",
        thing="Compass, Galleon, Treasure, Typhoon, Expedition, Lost Mine, Caravan, Idol, Passage, River",
        place="Cape Sorrow, Zanzibar, the Amazon, Skull Reef, Kathmandu, the Yukon, Patagonia, Port Calamity",
        mood="Golden, Scarlet, Uncharted, Sunken, Roaring, Thundering, Lost, Reckless, Jade, Desperate",
        hero="a grounded pilot, a one-eyed cartographer, a stowaway of twelve, a penniless heiress, a mule driver",
        deed="wins half a treasure map at cards, crosses the desert in the wrong season, steals the "
        "admiral's yacht, goes over the falls on a bet, follows a parrot with a password, outruns the "
        "monsoon",
        setting="a port of very bad reputation, the upper reaches of the river, the last days of sail",
    ),
    _genre(
        "Humour",
        (-1, 0, 0, 0, 2, 1),
        0.7,
        themes="village, animals, food, youth, money, friendship",
        titles="The {mood} {role} at {place}, How to {thing} a {role}, The {mood} {role}, The {role} Who "
        "Came to {place}, My {mood} {role}, No {role}s at {place}, {mood} {role}s, The {place} Fiasco",
        role="Vicar, Llama, Uncle, Butler, Peacock, Mayor, Lodger, Dentist, Trombonist, Accountant, Stepmother",
        thing="Lose, Borrow, Insult, Marry, Outwit, Misplace, Employ, Avoid, Train, Bribe",
        place="Dinner, Little Piddock, Bognor, the Golf Club, Tea, Lower Muddle, Choir Practice, the Regatta",
        mood="Unsinkable, Slightly Damp, Largely Innocent, Midweek, Overdressed, Incompetent, Indoor, Unlicensed",
        hero="a hopeless butler, an accident-prone vicar, the worst band in the county, a deputy mayor, a great-aunt",
        deed="enters a goose in the flower show, loses the bishop, is mistaken for an expert on eels, "
        "organises a surprise party for the wrong man, declares independence over a hedge, sells the town "
        "hall twice",
        setting="a village with four committees, the week of the wettest fete, a hotel with no fire doors",
    ),
    _genre(
        "Literary",
        (1, 0, 1, 1, -1, -2),
        0.9,
        themes="grief, music, love, winter, secrets, sea",
        titles="The {mood} {thing}s of {place}, The {mood} {thing}, {thing}s, All the {mood} {thing}s, A "
        "{thing} of One's Own, {place} in {mood} Light, The {thing} and the {role}, An Absence in "
        "{place}, What the {role} Left",
        role="Translator, Cellist, Father, Stranger, Daughter, Lodger, Swimmer, Photographer, Piano Tuner",
        thing="Silence, Orchard, Photograph, Headland, Window, Sonata, Lament, Distance, Stair, Inheritance",
        place="Trieste, the Suburbs, October, Montreal, the Provinces, the Fens, Late August, Leipzig",
        mood="Slow, Failing, Ordinary, Pale, Provisional, Unlit, Remaining, Borrowed, Northern, Tidal",
        hero="an ageing translator, an estranged sister, a piano tuner, a woman returning home, a failed poet",
        deed="says almost nothing for a year, clears the house room by room, rereads one letter, waits "
        "for the thaw, remembers a summer differently, plays the same sonata in every town",
        setting="an apartment above the station, the week after the funeral, a town the trains no longer stop at",
    ),
    _genre(
        "Nature",
        (-1, 1, 1, 1, -1, -2),
        0.5,
        themes="gardens, animals, winter, sea, travel, grief",
        titles="The {mood} {thing} of {place}, The Secret Life of {thing}s, A Year in {place}, The {mood} "
        "{thing}, Notes from {place}, Among {thing}s, The {role}'s {thing}, Walking {place}, In Praise of "
        "the {mood} {thing}",
        role="Shepherd, Naturalist, Beekeeper, Birdwatcher, Ferryman, Forester, Gardener, Mothkeeper",
        thing="Owl, Hedgerow, Heron, Lichen, Oak, Otter, Curlew, Beetle, Snail, Badger, Fern, Eel",
        place="the Marshes, Hazel Wood, the Uplands, the Tideline, the Hebrides, Heather Moor, the Water Meadows",
        mood="Solitary, Common, Migrant, Nocturnal, Unhurried, Lesser, Moss-Covered, Wild, Patient, Winter",
        hero="a hill shepherd, a city-born naturalist, a retired lighthouse keeper, a botanist, a night-walker",
        deed="spends a year counting owls, follows one river to its source, sits still long enough to "
        "meet the otters, lets the meadow decide, learns the names of forty mosses, waits all spring for "
        "a single curlew",
        setting="a hut without electricity, the last wild acre of the parish, twelve months of weather",
    ),
    _genre(
        "Biography",
        (0, -1, 1, 2, 0, -1),
        0.6,
        themes="youth, war, music, money, justice, friendship",
        titles="The {mood} {role} from {place}, My Life as a {role}, The {mood} {role}, Memoirs of a "
        "{mood} {role}, The {role} from {place}, From {place} to {thing}, {thing} and Other Mistakes, The "
        "{role} Who Refused {thing}",
        role="Tightrope Walker, Judge, Goalkeeper, Conductor, Spy, Chess Champion, Lady Mayor, Trumpeter, Surgeon",
        thing="Fame, Parliament, Ruin, Broadway, Prison, Glory, Retirement, the Podium, High Society",
        place="Coal Street, Bombay, Backstage, Nowhere, Harlem, the Orphanage, Glasgow, the Cheap Seats",
        mood="Reluctant, Left-Handed, Unrepentant, Accidental, Forgotten, Honest, Self-Made, Tone-Deaf, Late",
        hero="a champion goalkeeper, the first woman to conduct the royal band, a double agent, a country doctor",
        deed="tells it plainly at last, settles old scores with good manners, explains the scandal of "
        "1962, looks back on nine careers, opens the diaries, admits who really wrote the speeches",
        setting="sixty unguarded interviews, a memoir of two volumes, letters never meant for print",
    ),
    _genre(
        "Cookery",
        (-2, -1, 1, 1, 1, -1),
        0.5,
        themes="food, gardens, travel, village, friendship, sea",
        titles="The {mood} {role} of {place}, The {mood} {thing}, {thing} for Two, A {role}'s {thing}, "
        "The {place} Kitchen, {mood} Suppers from {place}, Bread and {thing}, The {role} of {place}, "
        "{mood} {thing}",
        role="Baker, Grandmother, Fishmonger, Ship's Cook, Pastry Chef, Lighthouse Cook, Forager, Picnicker",
        thing="Soup, Dumplings, Butter, Marmalade, Saffron, Pudding, Pickles, Sourdough, Breakfast, Custard",
        place="Naples, the Allotment, Istanbul, Market Square, Brittany, Harbourside, Oaxaca, Pepper Street",
        mood="Slow, Thrifty, Buttery, Midnight, One-Pan, Smoky, Salted, Sunday, Generous, Unfussy",
        hero="a ship's cook, a third-generation baker, a grandmother of eleven, a reformed critic, an allotment keeper",
        deed="gathers sixty suppers that need only one pan, finally writes the recipes down, forgives the "
        "souffle, feeds a street on one stove, proves that butter is an answer, cooks the market dry",
        setting="a kitchen the size of a cupboard, four seasons of leftovers, a harbour cafe with six chairs",
    ),
)
