// Mark the page as ready: until its scripts have loaded, the style sheet keeps its buttons from being pressed.

addEventListener("DOMContentLoaded", () => (document.body.dataset.ready = ""));
