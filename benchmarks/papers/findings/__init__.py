"""What the result files say of the claims of each paper, a function per claim.

A function takes the results of its paper and returns a `Finding`: in how many cases
the claim holds, and a sentence with the figures. Nothing in it is a stored number.
"""
