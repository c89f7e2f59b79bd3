/** The cost of a request: a part for each, a part for each frame of the log, and both again for each other worker that follows the log. */

/** CPU of an answer, by what causes it; microseconds. */
export interface Cost {
  readonly perRequest: number
  readonly perFrame: number
  readonly perRequestOfEachOther: number
  readonly perFrameOfEachOther: number
}

export interface Point {
  readonly workers: number
  /** Frames of the log that an answer took. */
  readonly frames: number
  /** What is to be explained: microseconds of an answer. */
  readonly micros: number
}

const regressorsOf = ({ workers, frames }: Omit<Point, 'micros'>): readonly number[] => {
  const others = workers - 1
  return [1, frames, others, others * frames]
}

/** Gauss-Jordan; of a matrix that has no inverse the unknowns are not finite. */
const solve = (matrix: readonly (readonly number[])[], right: readonly number[]): readonly number[] => {
  const rows = matrix.map((row, index) => [...row, right[index]!])
  for (const column of rows.keys()) {
    const pivot = rows
      .slice(column)
      .reduce((best, row) => (Math.abs(row[column]!) > Math.abs(best[column]!) ? row : best))
    const at = rows.indexOf(pivot)
    rows[at] = rows[column]!
    rows[column] = pivot.map((value) => value / pivot[column]!)
    for (const other of rows.keys()) {
      if (other === column) continue
      const factor = rows[other]![column]!
      rows[other] = rows[other]!.map((value, index) => value - factor * rows[column]![index]!)
    }
  }
  return rows.map((row) => row.at(-1)!)
}

/** The least squares of relative errors, in these columns alone. */
const leastSquares = (
  inputs: readonly (readonly number[])[],
  outputs: readonly number[],
  columns: readonly number[],
) => {
  const rows = inputs.map((input, index) => columns.map((column) => input[column]! / outputs[index]!))
  const sumOver = (of: (row: readonly number[]) => number): number => rows.reduce((sum, row) => sum + of(row), 0)
  return solve(
    columns.map((_, one) => columns.map((__, other) => sumOver((row) => row[one]! * row[other]!))),
    columns.map((_, one) => sumOver((row) => row[one]!)),
  )
}

/** No cost is below zero: of those that came out so the lowest is left out, and the rest found anew. */
export const fitCost = (points: readonly Point[]): Cost => {
  const inputs = points.map(regressorsOf)
  const outputs = points.map(({ micros }) => micros)
  let columns: readonly number[] = [0, 1, 2, 3].filter((column) => inputs.some((input) => input[column] !== 0))
  for (;;) {
    const found = leastSquares(inputs, outputs, columns)
    const lowest = Math.min(...found)
    if (lowest >= 0 || columns.length === 1) {
      const foundAt = (column: number): number => found[columns.indexOf(column)] ?? 0
      return {
        perRequest: foundAt(0),
        perFrame: foundAt(1),
        perRequestOfEachOther: foundAt(2),
        perFrameOfEachOther: foundAt(3),
      }
    }
    columns = columns.filter((_, index) => found[index] !== lowest)
  }
}

export const microsOf = (cost: Cost, where: Omit<Point, 'micros'>): number => {
  const [one, frames, others, othersFrames] = regressorsOf(where)
  return (
    cost.perRequest * one! +
    cost.perFrame * frames! +
    cost.perRequestOfEachOther * others! +
    cost.perFrameOfEachOther * othersFrames!
  )
}

/** Frames of an answer, by the connections that one worker has: `factor × connections ^ exponent`. */
export interface Grouping {
  readonly factor: number
  readonly exponent: number
}

const framesMax = 2 // One for what was routed, one for what was used.

export const fitGrouping = (points: readonly { readonly connections: number; readonly frames: number }[]): Grouping => {
  const logs = points.map(({ connections, frames }) => [Math.log(connections), Math.log(frames)] as const)
  const meanOf = (place: 0 | 1): number => logs.reduce((sum, each) => sum + each[place], 0) / logs.length
  const [x, y] = [meanOf(0), meanOf(1)]
  const exponent =
    logs.reduce((sum, [each, value]) => sum + (each - x) * (value - y), 0) /
    logs.reduce((sum, [each]) => sum + (each - x) ** 2, 0)
  return { factor: Math.exp(y - exponent * x), exponent }
}

export const framesOf = ({ factor, exponent }: Grouping, connectionsOfWorker: number): number =>
  Math.min(framesMax, factor * connectionsOfWorker ** exponent)

/** `y = fixed + slope × x`, by least squares. */
export const fitLine = (
  points: readonly (readonly [x: number, y: number])[],
): { readonly fixed: number; readonly slope: number } => {
  const x = points.reduce((sum, [each]) => sum + each, 0) / points.length
  const y = points.reduce((sum, [, each]) => sum + each, 0) / points.length
  const slope =
    points.reduce((sum, [each, value]) => sum + (each - x) * (value - y), 0) /
    points.reduce((sum, [each]) => sum + (each - x) ** 2, 0)
  return { fixed: y - slope * x, slope }
}
