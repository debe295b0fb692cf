/** How the pages are built: one folder of files that refer to each other relatively, so that it works below any path. */
import { fileURLToPath } from 'node:url'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url))

export default defineConfig({
  root: at('.'),
  base: './',
  plugins: [react()],
  resolve: { alias: { 'colloquy/client': at('../dist/client.js') } },
  build: {
    outDir: at('../dist/web'),
    emptyOutDir: true,
    target: 'es2022',
    // These know `light-dark()`; for older ones it would be written out twice.
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
    // Nothing is inlined: the content security policy has no exception for it.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: true,
  },
  server: { proxy: { '/api': 'http://127.0.0.1:7333' } },
})
