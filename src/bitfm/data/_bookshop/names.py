"""The bookshop's people: first names, separate surnames for readers and for authors, and towns."""

from __future__ import annotations

__all__ = ["AUTHOR_SURNAMES", "FIRST_NAMES", "READER_SURNAMES", "TOWNS"]


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split())


FIRST_NAMES = _names(
    """
    Ada Agnes Alba Alistair Amara Ambrose Anouk Anselm Arthur Astrid Aurelio Barnaby Beatrix Benedict
    Bertha Bo Bruno Callum Carmen Cecily Chidi Clara Clement Cora Cosmo Cyrus Dahlia Daphne Desmond Dora
    Edith Edmund Elena Elias Elsie Emeka Enid Esther Fabian Farah Felix Fern Fiona Florian Freya Gideon
    Greta Gus Gwen Hanna Harriet Hector Henrik Hilda Horace Hugo Ida Ignatius Imani Ines Ingrid Iris
    Isidore Ivo Jasper Jemima Joan Jonas Juno Kamala Kasper Keiko Kit Lars Laszlo Leila Leopold Lotte
    Lucian Luna Mabel Magnus Mahmoud Maren Matilda Maud Mei Milo Mina Minerva Mungo Nadia Nell Niamh
    Noor Octavia Odette Olga Orla Oscar Otis Ottilie Owen Pearl Percy Petra Phoebe Pilar Priya Quentin
    Rafael Ravi Rhoda Rosa Rufus Ruth Sabine Saskia Selma Silas Sunita Sven Tabitha Tariq Thea Theo
    Tilda Tobias Ursula Una Vera Vikram Violet Walter Wanda Wilfred Winifred Xenia Yara Yusuf Zadie Zora
    """
)
READER_SURNAMES = _names(
    """
    Abernathy Adeyemi Appleby Ashdown Babbage Barley Beck Bellamy Birch Bloom Bramble Brook Brightwell
    Button Calloway Candle Carter Castillo Cheng Clover Cobb Copperfield Crane Cricket Crumb Dawes
    Delacroix Dove Drake Duffy Eastwood Ember Eriksen Fairweather Fennel Ferreira Finch Fisk Flint
    Foxglove Frost Gable Garcia Gill Goodfellow Gray Grove Gupta Hale Harper Hartley Hawthorn Hazel
    Heath Hollis Holt Honey Hopper Ivanova Jamieson Jensen Juniper Kapoor Keats Kestrel Kim Kumar Lamb
    Larkin Leaf Lindqvist Linden Lockett Lopez Lovelace Mallow Marlow Marsh Mbeki Meadows Merry Moon
    Moreau Moss Nakamura Nettle Nightingale Novak Oakley Okafor Olsen Page Parsley Pemberton Penny
    Pepper Petrov Pickering Pike Plum Pocket Quill Quince Rahman Reed Robin Rosen Rowe Rush Sage Santos
    Sato Saxby Shaw Silva Singh Sorrel Sparrow Spooner Starling Stern Sugden Swift Tanaka Tansy Teasdale
    Thistle Thorne Thrush Tuttle Underhill Vale Vance Vesper Wagner Wainwright Waters Weaver Whistler
    Wick Willow Winter Wolfe Wren Yarrow Yoon Young Zhang
    """
)
AUTHOR_SURNAMES = _names(
    """
    Achterberg Alderman Amberley Anand Arkwright Asante Ashcombe Atherton Averill Balthasar Banerjee
    Barrowclough Beaumont Belgrave Blackwood Bonaventure Boscombe Braithwaite Brandreth Cadogan
    Carmichael Cathcart Cavendish Chaudhuri Cholmondeley Coldstream Crabtree Cromarty Culpepper
    Dalgleish Danvers Darkwater Delamere Devereux Dostal Drummond Dunmore Eglantine Ellsworth Endicott
    Escobar Everhart Fairfax Falconbridge Fanshawe Farquhar Featherstone Fitzroy Fontaine Forsythe
    Galbraith Ghosh Glendower Grimaldi Hallgrimsson Harcourt Harrowgate Hathaway Haverstock Heathcliffe
    Hemlock Hightower Hollingsworth Iwasaki Jarndyce Jellicoe Kavanagh Khatun Kingsolver Kowalczyk
    Lachance Langstrom Leclerc Lestrange Llewellyn Lockhart Loxley Macallister Maddox Mainwaring
    Marchbanks Maupin Melville-Ito Merriweather Montague Mordaunt Mortimer Mwangi Nesbit-Rao Netherby
    Northcote Obuya Oglethorpe Orloff Ormsby Osterhaus Pargeter Penhaligon Pettigrew Pevensey Ponsonby
    Prendergast Quartermain Quiller Radcliffe Ravenscroft Rochester Rosenthal Rousseau Rutherford
    Sackville Saltmarsh Sandoval Satterthwaite Scrivener Severin Sinclair Somerset Stavropoulos
    Strangeways Summerscale Tavistock Tennyson-Oke Thackeray Thistlewood Thornbury Tolliver Trelawney
    Trevanion Vandermeer Vasquez Venn Vosper Wadsworth Warbeck Wetherby Whitlock Wilberforce
    Winterbourne Woolstencroft Wyndham Yamaguchi Yellowlees Zabriskie Zamora
    """
)
TOWNS = _names(
    """
    Aldermoor Applecross Barrowby Bellhaven Bramley Candleford Chipperfield Cloverdale Cold-Aston
    Dunwick Eastmere Fernhill Foxley Gullhaven Harrowdale Hazelbury Inkford Kelpie-Bay Larkrise
    Little-Wick Marlpit Millbrook Netherby Oldcastle Otterburn Pebbleton Quarrydown Ravensby Rookhope
    Saltcoats Sandwick Silverdale Skerry Thornby Tidewell Upper-Slate Wetherfield Whitcombe Windle
    Yewbarrow
    """
)
