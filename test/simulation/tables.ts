import { formatUsd, parseUsd } from '../../src/domain/money.ts'
import { readModels } from '../../src/projections/read-models.ts'
import type { Row, Value } from '../../src/projections/schema/read-model.ts'
import { versionsOf } from '../../src/projections/versions.ts'
import type { EdgeReadModels } from '../../src/read-api/read-models.ts'
import type { ProjectionBatch, ProjectionStore, TableChanges, TablesPosition } from '../../src/roles/projector/ports.ts'
import type { StoredTasks } from '../../src/roles/recent-tasks.ts'
import type { StoredResponseTables } from '../../src/roles/stored-responses.ts'
import type { Ports } from './ports.ts'
import { currentProcess, noAnswer } from './process.ts'
import type { VirtualTime } from './virtual-time.ts'

const toText = (value: Value | undefined): string =>
  JSON.stringify(value, (_, each: unknown) => (typeof each === 'bigint' ? `${each}n` : each))

const keyText = (key: readonly (Value | undefined)[]): string =>
  key.map((each) => (typeof each === 'string' ? each : toText(each))).join('\n')

const add = (one: Value | undefined, other: Value | undefined): Value => {
  if (typeof one === 'string' && typeof other === 'string') return formatUsd(parseUsd(one) + parseUsd(other))
  return BigInt(Number(one ?? 0)) + BigInt(Number(other ?? 0))
}

const rowsAbove = (last: Row | undefined, key: string, written: readonly Row[]): readonly Row[] =>
  written.filter((row) => last === undefined || String(row[key]) > String(last[key]))

const isEqualRow = (one: Row, other: Row | undefined): boolean =>
  other !== undefined &&
  Object.keys(one).length === Object.keys(other).length &&
  Object.entries(one).every(([name, value]) => value === other[name] || toText(value) === toText(other[name]))

/** The rows of every table, written as `definition.write` says. */
export class TableRows {
  readonly #tables = new Map<string, Map<string, Row>>()
  /** Of each table the row that was written last. */
  readonly #last = new Map<string, Row>()

  find(table: string, ...key: readonly string[]): Row | undefined {
    return this.#tables.get(table)?.get(keyText(key))
  }

  count(table: string): number {
    return this.#tables.get(table)?.size ?? 0
  }

  all(table: string): readonly Row[] {
    return [...(this.#tables.get(table)?.values() ?? [])]
  }

  /** A row that is not the same in the other, for a message; null where all are. */
  findDifference(other: TableRows): string | null {
    for (const table of new Set([...this.#tables.keys(), ...other.#tables.keys()])) {
      const [mine, others] = [this.#tables.get(table) ?? new Map<string, Row>(), other.#tables.get(table)]
      for (const key of new Set([...mine.keys(), ...(others?.keys() ?? [])])) {
        const [row, same] = [mine.get(key), others?.get(key)]
        if (row === undefined || !isEqualRow(row, same))
          return `${table} ${toText(row as never)} and ${toText(same as never)}`
      }
    }
    return null
  }

  write(changes: readonly TableChanges[]): void {
    for (const { table, definition, written, deleted } of changes) {
      const rows = this.#tables.get(table) ?? new Map<string, Row>()
      this.#tables.set(table, rows)
      const keyOf = (row: Row): string => keyText(definition.key.map((name) => row[name]))
      for (const row of deleted) rows.delete(keyOf(row))
      const last = this.#last.get(table)
      const rising = definition.write === 'rise' ? rowsAbove(last, definition.key[0]!, written) : written
      for (const row of rising) this.#writeRow(rows, keyOf(row), row, definition)
      if (rising.length > 0) this.#last.set(table, rising.at(-1)!)
    }
  }

  #writeRow(rows: Map<string, Row>, key: string, row: Row, { write, key: keyNames }: TableChanges['definition']): void {
    const present = rows.get(key)
    if (present === undefined) rows.set(key, row)
    else if (write === 'insert') throw new Error(`a row is inserted twice: ${key}`)
    else if (write === 'replace') rows.set(key, row)
    else if (write === 'add') {
      const sums = Object.entries(row).map(([name, value]) => [
        name,
        keyNames.includes(name) ? value : add(present[name], value),
      ])
      rows.set(key, Object.fromEntries(sums) as Row)
    }
  }
}

export interface TablesParts {
  readonly time: VirtualTime
  readonly random: () => number
  readonly ports: Ports
  /** Called after each batch. */
  readonly applied: () => void
}

const queryMs = 3

/** The read models as a database keeps them. */
export class SimTables implements ProjectionStore {
  rows = new TableRows()
  sequence = 0
  downUntilMs = 0
  readonly #parts: TablesParts
  #firstFrame: string | null = null
  #lastFrame: TablesPosition['lastFrame'] = null

  constructor(parts: TablesParts) {
    this.#parts = parts
  }

  load(): ReturnType<ProjectionStore['load']> {
    return this.#call('tables.load', () => ({
      sequence: this.sequence,
      firstFrame: this.#firstFrame,
      lastFrame: this.#lastFrame,
      versions: versionsOf(readModels),
    }))
  }

  apply(batch: ProjectionBatch): Promise<boolean> {
    return this.#call('tables.apply', () => {
      if (batch.fromSequence !== this.sequence) return false
      this.rows.write(batch.changes)
      this.sequence = batch.toSequence
      this.#firstFrame ??= batch.firstFrame
      this.#lastFrame = { sequence: batch.toSequence, id: batch.lastFrame }
      this.#parts.applied()
      return true
    })
  }

  checkpoint(): Promise<number> {
    return this.#call('tables.read', () => this.sequence)
  }

  versions(): ReturnType<ProjectionStore['versions']> {
    return this.#call('tables.read', () => versionsOf(readModels))
  }

  findRequestFrames(requestId: string): ReturnType<EdgeReadModels['findRequestFrames']> {
    return this.#call('tables.read', () => {
      const row = this.rows.find('requests', requestId)
      const value = row && [Number(row['first_sequence']), Number(row['sequence'])]
      return { sequence: this.sequence, value }
    })
  }

  responses(): StoredResponseTables {
    return { findStored: () => this.#call('tables.read', () => undefined), checkpoint: () => this.checkpoint() }
  }

  tasks(): StoredTasks {
    return {
      findTask: (workspaceId, taskId) =>
        this.#call('tables.read', () => {
          const row = this.rows.find('tasks', taskId)
          return row?.['workspace_id'] === workspaceId ? { taskId, sequences: this.#placesOf(taskId) } : null
        }),
      listTasks: () => this.#call('tables.read', () => []),
      checkpoint: () => this.checkpoint(),
    }
  }

  #placesOf(chargeId: string): readonly number[] {
    const places = this.rows.all('charge_places').filter((row) => row['charge_id'] === chargeId)
    return places.map((row) => Number(row['sequence'])).toSorted((one, other) => one - other)
  }

  async #call<T>(port: string, work: () => T): Promise<T> {
    const { time, random, ports } = this.#parts
    const process = currentProcess()
    if (!ports.reach(process, port, 'before')) return noAnswer()
    await time.sleep(random() * queryMs)
    if (time.nowMs < this.downUntilMs) throw new Error('the database cannot be reached')
    const result = work()
    if (!ports.reach(process, port, 'after')) return noAnswer()
    return result
  }
}
