/** Bundles the programs that tests start, for `make test`, into the folder that is named: loading two thousand modules is most of a start. */
import { mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build, type Plugin } from 'esbuild'

const root = fileURLToPath(new URL('../../', import.meta.url))
const folder = process.argv[2] as string
const draft = `${folder}.draft`

/** Modules find files beside their source, as before. */
const keepUrls: Plugin = {
  name: 'keep-urls',
  setup: ({ onLoad }) =>
    onLoad({ filter: /\/(src|sandbox)\/.*\.ts$/ }, ({ path }) => ({
      loader: 'ts',
      contents: readFileSync(path, 'utf8').replaceAll('import.meta.url', JSON.stringify(pathToFileURL(path).href)),
    })),
}

rmSync(draft, { recursive: true, force: true })
await build({
  absWorkingDir: root,
  entryPoints: ['src/main.ts', 'test/support/program-host.ts', 'test/support/serve-with-bounds.ts'],
  ...{ outbase: root, outdir: draft, outExtension: { '.js': '.mjs' } },
  ...{ bundle: true, splitting: true, format: 'esm', platform: 'node', target: 'node22' },
  banner: { js: "import { createRequire as of } from 'node:module'; const require = of(import.meta.url);" },
  plugins: [keepUrls],
  logLevel: 'warning',
})
rmSync(folder, { recursive: true, force: true })
mkdirSync(dirname(folder), { recursive: true })
renameSync(draft, folder)
