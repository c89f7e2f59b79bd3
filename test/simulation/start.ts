import type { Signer, Verifier } from '../../src/audit/note.ts'
import type { Runtime } from '../../src/cli/runtime.ts'
import type { AdminIdentity } from '../../src/roles/edge/http/authenticate.ts'
import type { SimHeadStore } from './head-store.ts'
import type { Ports } from './ports.ts'
import type { SimProcess } from './process.ts'
import type { SimTables } from './tables.ts'
import type { SimUpstream } from './upstream.ts'
import type { SimVendor } from './vendor.ts'

export interface HostParts {
  readonly ports: Ports
  readonly tables: SimTables
  readonly upstream: SimUpstream
  readonly vendor: SimVendor
  readonly signer: Signer
  readonly verifiers: readonly Verifier[]
  readonly admins: readonly AdminIdentity[]
  readonly listening: (process: SimProcess, port: number) => void
}

/** What a process is started with. */
export interface Start extends HostParts {
  readonly process: SimProcess
  readonly runtime: Runtime
  /** The file of this host with what was signed last. */
  readonly heads: SimHeadStore
  readonly sharedHeads: SimHeadStore
  readonly onFatal: (fault: Error) => void
  /** Called in reverse order when the process is stopped. */
  readonly push: <T extends { stop(): Promise<unknown> }>(part: T) => T
}
