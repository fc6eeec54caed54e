"""What runs inside the image.

The modules here are joined to one source text (see ``verify.source``) and run by the image's own interpreter, so they
use the standard library of Python 3.8 alone, import one another only by ``from imagepins.verify.collector.X import Y``
lines (which joining drops), and share one namespace of names.
"""
