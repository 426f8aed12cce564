"""How a text is read out: each module writes out a kind of writing, by the tables of a language."""
