/** The page for a browser without access: instructions, and a field for the token. It has no scripts. */
import { escaped, page } from './docs-page.ts'

export function entryPage({ basePath, reason }: { basePath: string; reason: string | undefined }): string {
  return page(
    'Colloquy – enter',
    `<main class="narrow"><h1>Colloquy</h1>
${reason === undefined ? '' : `<p role="alert">${escaped(reason)}</p>`}
<p>This server shows its conversations to the person who started it. There are two ways in:</p>
<ol>
<li>Open the address that <code>npm start</code> or <code>colloquy serve</code> printed. It is valid once, for ten minutes; each start prints a new one.</li>
<li>Enter the token. It is in the file that the same output names, <code>token</code> next to the store.</li>
</ol>
<form method="post" action="${escaped(basePath)}/enter">
<label for="token">Token</label>
<input id="token" name="token" type="password" autocomplete="current-password" required autofocus>
<button type="submit">Enter</button>
</form>
<p>If you were let in a moment ago, <a href="${escaped(basePath)}/">try again</a>: a browser that comes from another site leaves its cookie behind the first time.</p>
</main>`,
    basePath,
  )
}
