import type { JetStreamManager } from '@nats-io/jetstream'
import { GatewayError } from '../../errors/gateway-error.ts'
import type { Fact } from '../../events/envelope.ts'
import { assertReadableFormat, fitToFormat, logFormat } from '../../events/log-format.ts'
import type { LogNames } from './streams.ts'

/** That of the release that made the stream, or what it was raised to: for each format a subject, of which a frame is enough. */
const readFormat = async (
  jsm: JetStreamManager,
  { stream, journalPrefix, formatPrefix, formatKey }: LogNames,
): Promise<number> => {
  const { config, state } = await jsm.streams.info(stream, { subjects_filter: `${journalPrefix}*` })
  const raised = Object.keys(state.subjects ?? {})
    .filter((subject) => subject.startsWith(formatPrefix))
    .map((subject) => Number(subject.slice(formatPrefix.length)))
  return Math.max(Number(config.metadata?.[formatKey] ?? 1), ...raised)
}

/** What may be appended in the log's format. It only rises. */
export class FormatGate {
  readonly #jsm: JetStreamManager
  readonly #names: LogNames
  #number = 1

  private constructor(jsm: JetStreamManager, names: LogNames) {
    this.#jsm = jsm
    this.#names = names
  }

  /** Rejects where this release cannot read the log. */
  static async open(jsm: JetStreamManager, names: LogNames): Promise<FormatGate> {
    const gate = new FormatGate(jsm, names)
    await gate.refresh()
    return gate
  }

  get number(): number {
    return this.#number
  }

  /** Then everything may be appended, and nothing is awaited before a frame is filled. */
  get isCurrent(): boolean {
    return this.#number === logFormat
  }

  async refresh(): Promise<void> {
    this.#number = Math.max(this.#number, await readFormat(this.#jsm, this.#names))
    assertReadableFormat(this.#number)
  }

  /** What may be appended of the facts. Rejects with `conflict` what the log can have only after the upgrade was finished. */
  async admit(facts: readonly Fact[]): Promise<readonly Fact[]> {
    const fitted = facts.map((fact) => fitToFormat(fact, this.#number))
    const refused = fitted.find((fact) => 'unwritable' in fact)
    if (refused === undefined) return fitted as readonly Fact[]
    const before = this.#number
    await this.refresh()
    if (this.#number > before) return this.admit(facts)
    throw new GatewayError(
      'conflict',
      `${refused.unwritable} cannot be in the log before its format is raised from ${before} to ${logFormat}: run \`gateway upgrade --finish\` once every process is of this release.`,
    )
  }
}
