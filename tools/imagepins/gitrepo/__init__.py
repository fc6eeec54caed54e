"""URL + ref → commits, history, provisional state. The only package that talks to git repositories of others."""
