// The page's programs have come: what needs them can be pressed from now on, and was not to be pressed in vain before.

addEventListener("DOMContentLoaded", () => (document.body.dataset.ready = ""));
