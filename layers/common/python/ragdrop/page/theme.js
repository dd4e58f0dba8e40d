// Runs before the first paint: the theme that was chosen, and which view is to come.
try {
  const theme = localStorage.getItem("ragdrop.theme");
  if (theme) document.documentElement.dataset.theme = theme;
} catch { /* private windows may keep nothing */ }
document.documentElement.dataset.view = location.hash.replace(/^#\/?/, "").split(/[/?]/)[0];
