"""The Coq theory of the checks, and the comparison of a certificate with the files it is about."""
