import { hash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { extname } from 'node:path'
import { readLimits } from '../limits.ts'

interface PageFile {
  readonly type: string
  readonly body: Buffer
  readonly tag: string
}

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

const ownFolder = new URL('../../../dashboard/', import.meta.url)

/** The published files of the charting library: nothing else of `node_modules` is served. */
const shipped: Readonly<Record<string, string>> = {
  '/dashboard/vendor/uplot.js': 'uplot/dist/uPlot.esm.js',
  '/dashboard/vendor/uplot.css': 'uplot/dist/uPlot.min.css',
}

const fileAt = (url: URL): PageFile => {
  const type = types[extname(url.pathname)]
  if (type === undefined) throw new Error(`the dashboard serves no such file: ${url.pathname}`)
  const body = readFileSync(url)
  if (body.length > readLimits.dashboardFileBytesMax)
    throw new Error(`a file of the dashboard is too large: ${url.pathname}`)
  return { type, body, tag: hash('sha256', body).slice(0, 32) }
}

const ownNames = (): readonly string[] =>
  readdirSync(ownFolder, { recursive: true, encoding: 'utf8' })
    .map((name) => name.replaceAll('\\', '/'))
    .filter((name) => extname(name) in types)

/** Every file of the dashboard by its path, read once: no request's path is ever used as a file path. */
export const dashboardFiles = (): ReadonlyMap<string, PageFile> => {
  const own = ownNames().map((name) => [`/dashboard/${name}`, fileAt(new URL(name, ownFolder))] as const)
  const library = Object.entries(shipped).map(
    ([path, name]) => [path, fileAt(new URL(import.meta.resolve(name)))] as const,
  )
  const files = new Map([...own, ...library])
  const page = files.get('/dashboard/index.html')
  if (page === undefined) throw new Error('the dashboard has no page')
  return files.set('/dashboard', page).set('/dashboard/', page)
}
