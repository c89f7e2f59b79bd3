// @ts-check
import { csvLine } from './csv.js'
import { h, replace } from './dom.js'
import { count } from './format.js'
import { errorPanel } from './parts.js'

/** @param {BlobPart[]} parts @param {string} type @param {string} name */
export const download = (parts, type, name) => {
  const url = URL.createObjectURL(new Blob(parts, { type }))
  h('a', { href: url, download: name }).click()
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}

/**
 * A button that saves every page of a list as CSV, every digit as it is in the ledger, and how far it is. Nothing is saved
 * where the view is left.
 *
 * @template Row
 * @param {{
 *   columns: readonly (readonly [name: string, value: (row: Row) => string | number | null])[],
 *   reading: () => (cursor: string | undefined) => Promise<import('./types.d.ts').Page<Row>>,
 *   fileName: () => string,
 *   signal: AbortSignal,
 * }} options
 */
export const csvExport = ({ columns, reading, fileName, signal }) => {
  const status = h('p', { role: 'status', class: 'muted small' })
  const button = h('button', { type: 'button' }, 'Export CSV')
  const save = async () => {
    const read = reading()
    const name = fileName()
    const parts = [csvLine(columns.map(([name]) => name))]
    /** @type {string | undefined} */
    let cursor
    let rows = 0
    do {
      const page = await read(cursor)
      parts.push(page.data.map((row) => csvLine(columns.map(([, value]) => value(row)))).join(''))
      rows += page.data.length
      status.textContent = `${count(rows)} rows read…`
      cursor = page.next_cursor ?? undefined
    } while (cursor !== undefined && !signal.aborted)
    if (!signal.aborted) download(parts, 'text/csv', name)
    status.textContent = `${count(rows)} rows exported, every digit as it is in the ledger.`
  }
  const run = async () => {
    button.disabled = true
    try {
      await save()
    } catch (fault) {
      replace(
        status,
        errorPanel(fault, () => void run()),
      )
    }
    button.disabled = false
  }
  button.addEventListener('click', () => void run())
  return { button, status }
}
