"""What the functions of the library gave, call by call: kept while the suite runs, and compared after a change.

``make record`` watches the suite and keeps the first calls of every function (arguments as text, never pickles), in
``tests/recorded/calls``; what each of them gives is summarised in ``tests/recorded/results``. ``make replay`` makes the same
calls again and tells every result that moved.
"""
