"""A new book and a new reader."""

from __future__ import annotations

from bitfm.demo.shop import new_book, new_reader, ranks_of_book


def test_a_new_book_gets_the_rank_that_sorting_gives_it(small_shop, recommender):
    book = new_book(small_shop)
    assert book["title"] not in small_shop.books["title"]
    assert book["author"] in small_shop.books.filter(genre=book["genre"])["author"]
    busiest, highest = ranks_of_book(recommender, small_shop, book)
    assert busiest["favourite_genres"] == [book["genre"]]
    assert highest["rank"] <= busiest["rank"]
    for ranked in (busiest, highest):
        seen = small_shop.train.filter(reader=ranked["user"])["title"].to_list()
        titles = [title for title in [*small_shop.books["title"], book["title"]] if title not in seen]
        scores = dict(zip(titles, recommender.predict([(ranked["user"], title) for title in titles]), strict=True))
        assert ranked["among"] == len(titles)
        assert ranked["rank"] == 1 + sum(score > scores[book["title"]] + 1e-5 for score in scores.values())


def test_a_new_reader_tells_what_the_recommender_knows(small_shop, fitted):
    features, history = new_reader(small_shop)
    titles = [title for title, _ in history]
    assert len(set(titles)) == 3
    found = fitted.recommend_new(history, features, n=5)["item"].to_list()
    assert not set(found) & set(titles)
    assert found != fitted.recommend_new((), {}, n=5)["item"].to_list()
