// Tabs of languages: a choice holds for all tabs of all pages. Tables that scroll: the keyboard reaches them.
const KEY = "language";

class LanguageTabs extends HTMLElement {
  connectedCallback() {
    this.panels = [...this.children];
    this.list = Object.assign(document.createElement("div"), { role: "tablist", className: "language-tablist not-content" });
    this.list.ariaLabel = "Language";
    this.buttons = this.panels.map((panel) => this.tab(panel));
    this.prepend(this.list);
    this.list.addEventListener("keydown", (event) => this.step(event));
    this.select(localStorage.getItem(KEY));
  }

  tab(panel) {
    const button = Object.assign(document.createElement("button"), { role: "tab", textContent: panel.dataset.label });
    panel.id = `tab-${crypto.getRandomValues(new Uint32Array(1))[0]}`;
    button.id = `${panel.id}-of`;
    button.setAttribute("aria-controls", panel.id);
    panel.setAttribute("aria-labelledby", button.id);
    panel.setAttribute("role", "tabpanel");
    button.addEventListener("click", () => choose(panel.dataset.label));
    this.list.append(button);
    return button;
  }

  /** Shows the tab of a language; the first one if there is no such tab. */
  select(label) {
    const found = this.panels.findIndex((panel) => panel.dataset.label === label);
    const chosen = Math.max(0, found);
    for (const [index, panel] of this.panels.entries()) {
      panel.hidden = index !== chosen;
      this.buttons[index].setAttribute("aria-selected", String(index === chosen));
      this.buttons[index].tabIndex = index === chosen ? 0 : -1;
    }
  }

  step(event) {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const next = this.buttons[(this.buttons.indexOf(event.target) + by + this.buttons.length) % this.buttons.length];
    if (!next) return;
    event.preventDefault();
    next.click();
    next.focus();
  }
}

function choose(label) {
  localStorage.setItem(KEY, label);
  for (const tabs of document.querySelectorAll("language-tabs")) {
    if (tabs.panels.some((panel) => panel.dataset.label === label)) tabs.select(label);
  }
}

customElements.define("language-tabs", LanguageTabs);

function reachable() {
  for (const table of document.querySelectorAll(".sl-markdown-content table")) {
    if (table.scrollWidth > table.clientWidth) table.tabIndex = 0;
    else table.removeAttribute("tabindex");
  }
}

addEventListener("resize", reachable);
reachable();
