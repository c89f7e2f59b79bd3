/** How figures are shown. */

export const whole = (value: number): string => Math.round(value).toLocaleString('en-US')

export const megabytes = (bytes: number | null): string => (bytes === null ? 'unknown' : `${whole(bytes / 2 ** 20)} MB`)

/** A Markdown table; all columns after those of words are figures. */
export const table = (head: readonly string[], lines: readonly (readonly string[])[], wordColumns = 2): string => {
  const widths = head.map((_, column) => Math.max(...[head, ...lines].map((cells) => cells[column]!.length)))
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, column) => (column < wordColumns ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!))).join(' | ')} |`
  const rule = `|${widths.map((width, column) => (column < wordColumns ? '-'.repeat(width + 2) : `${'-'.repeat(width + 1)}:`)).join('|')}|`
  return [line(head), rule, ...lines.map(line)].join('\n')
}

/** A figure that was aimed at, and what was found. */
export interface Target {
  readonly what: string
  readonly found: string
  readonly met: boolean
}

export const targetLine = ({ what, found, met }: Target): string => `${met ? 'PASS ' : 'below'}  ${what}: ${found}`
