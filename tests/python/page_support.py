"""Pages of HTML, as tests look at them."""

import html.parser


class Elements(html.parser.HTMLParser):
    """The names of a page's elements, and all their attributes, in their order."""

    def __init__(self, page: str):
        super().__init__()
        self.names, self.attributes = [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.names.append(tag)
        self.attributes += attrs
