// The chosen theme, before the first paint: a page that turns dark a moment later hurts. Its other half is src/theme/theme.ts.
try {
  const choice = localStorage.getItem('colloquy:theme')
  if (choice === 'light' || choice === 'dark') document.documentElement.dataset.theme = choice
} catch {
  // No storage: the system's setting holds.
}
