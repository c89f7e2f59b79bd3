import { readFile, writeFile } from 'node:fs/promises'

export interface TableRow {
  readonly name: string
  /** The first that detected it; 0 for its kept plan, null for none. */
  readonly seed: number | null
}

const page = new URL('../../../docs/simulation.md', import.meta.url)
const head = '| planted bug | seed |\n|---|---|\n'

const seedText = (seed: number | null): string => (seed === 0 ? 'kept plan' : seed === null ? 'none' : String(seed))

export const formatTable = (rows: readonly TableRow[]): string =>
  `${head}${rows.map(({ name, seed }) => `| ${name} | ${seedText(seed)} |\n`).join('')}`

const findTable = (text: string): { readonly from: number; readonly to: number } => {
  const from = text.indexOf(head)
  if (from < 0) throw new Error('docs/simulation.md has no table of planted bugs')
  const end = text.indexOf('\n\n', from)
  return { from, to: end < 0 ? text.length : end + 1 }
}

/** The rows of the documentation. */
export const readTable = async (): Promise<readonly TableRow[]> => {
  const text = await readFile(page, 'utf8')
  const { from, to } = findTable(text)
  const lines = text
    .slice(from + head.length, to)
    .trimEnd()
    .split('\n')
  return lines.map((line) => {
    const [, name = '', seed = ''] = line.split('|').map((cell) => cell.trim())
    return { name, seed: seed === 'kept plan' ? 0 : seed === 'none' ? null : Number(seed) }
  })
}

/** Of these bugs, in this order: of those that were not measured now the rows that it has. */
export const writeTable = async (names: readonly string[], measured: readonly TableRow[]): Promise<void> => {
  const seeds = new Map([...(await readTable()), ...measured].map(({ name, seed }) => [name, seed]))
  const rows = names.flatMap((name) => (seeds.has(name) ? [{ name, seed: seeds.get(name) ?? null }] : []))
  const text = await readFile(page, 'utf8')
  const { from, to } = findTable(text)
  await writeFile(page, `${text.slice(0, from)}${formatTable(rows)}${text.slice(to)}`)
}
