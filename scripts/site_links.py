"""What the documentation's site does with links that leave `docs`: they become the path of the file in the checkout.

Pages link to sources and to each other by relative paths, which a reader of the checkout can follow; the site holds
only `docs`. MkDocs calls the function for each page; everything else about links is checked by `mkdocs build --strict`.
"""

import re
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[1]
LINK = re.compile(r"\[(?P<text>[^\]]+)\]\((?P<path>\.\./[^)\s#]+)(?:#[^)\s]*)?\)")


def on_page_markdown(markdown: str, page, config, files) -> str:
    folder = Path(config["docs_dir"]) / PurePosixPath(page.file.src_uri).parent

    def replaced(link: re.Match) -> str:
        target = (folder / link["path"]).resolve()
        if target.is_relative_to(config["docs_dir"]):
            return link[0]
        path = target.relative_to(ROOT).as_posix()
        text = link["text"].strip("`")
        return f"`{path}`" if path.endswith(text) else f"{link['text']} (`{path}`)"

    return LINK.sub(replaced, markdown)
