// copy buttons, and links to what is folded away
for (const button of document.querySelectorAll("button.copy")) {
  button.hidden = false; // of no use without this script
  button.addEventListener("click", async () => {
    const code = document.getElementById(button.dataset.from);
    try {
      await navigator.clipboard.writeText(code.textContent);
    } catch { // no clipboard: select the text, and copy it the old way
      window.getSelection().selectAllChildren(code);
      document.execCommand("copy");
    }
    const before = button.textContent;
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = before; }, 1500);
  });
}
const unfold = () => {
  const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  for (let at = target; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
  target.scrollIntoView();
};
window.addEventListener("hashchange", unfold);
unfold();
