"""The parts of the generated bookshop; `bitfm.data.bookshop` puts them together."""
