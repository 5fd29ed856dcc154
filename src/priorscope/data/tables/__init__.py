"""Tables: columns of numbers, words and truth values, and what becomes of them as inputs and targets."""
