// Looks at the board again every few seconds and puts the parts that live in their places. Without this script the page
// reloads itself.
"use strict";
(() => {
  const SECONDS = 5;
  const hold = document.getElementById("hold");
  const news = document.getElementById("news");
  let held = false;
  const say = (text) => { if (news.textContent !== text) news.textContent = text; };

  async function look() {
    if (held || document.hidden) return;
    try {
      const answer = await fetch("/board", { credentials: "omit", cache: "no-store" });
      if (!answer.ok) throw new Error(String(answer.status));
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
      for (const part of document.querySelectorAll("[data-live]")) {
        const newer = fresh.querySelector(`[data-live="${part.dataset.live}"]`);
        if (newer) part.replaceChildren(...newer.childNodes);
      }
      say("");
    } catch {
      say("The service does not answer; what is shown is old.");
    }
  }

  hold.hidden = false;
  hold.addEventListener("click", () => {
    held = !held;
    hold.setAttribute("aria-pressed", String(held));
    if (!held) look();
  });
  setInterval(look, SECONDS * 1000);
})();
