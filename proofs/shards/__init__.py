"""Trusted for verdicts in shards: the pairs of a dataset checked in contiguous ranges, and their answers put together.

A shard is a range of pairs. Whoever answers it reads the transformer and the pairs again, and says what was read; the
coordinator checks that every pair was answered exactly once, by the shard it was given to, about the same question. A
"refuted" or "undecided" is found again by the coordinator on the pair that decides; "verified" rests on the workers.

Imports go one way: question, answer, worker, plan, merge, journal, dispatch, check.
"""
