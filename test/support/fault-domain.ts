import { executionAsyncResource } from 'node:async_hooks'

/** The runner's name for where a test runs; since when, in nanoseconds, 0 until it runs. */
interface TestScope {
  readonly test?: { readonly start?: bigint }
}

const open: Domain[] = []

/**
 * In place of `async-hook-domain`, with which the runner finds the test of a fault that nothing awaits: that follows every promise by
 * hooks, which costs a suite much of its CPU time. Tests run one after another here, so a fault is of the newest that runs.
 */
export class Domain {
  readonly onerror: (fault: unknown, origin: string) => void
  readonly #scope = executionAsyncResource() as TestScope

  constructor(onerror: (fault: unknown, origin: string) => void) {
    this.onerror = onerror
    open.push(this)
  }

  get isRunning(): boolean {
    return this.#scope.test?.start !== 0n
  }

  destroy(): void {
    const place = open.indexOf(this)
    if (place >= 0) open.splice(place, 1)
  }
}

process.on('uncaughtExceptionMonitor', (fault, origin) => {
  const domain = open.findLast(({ isRunning }) => isRunning)
  if (domain === undefined || process.hasUncaughtExceptionCaptureCallback()) return
  domain.onerror(fault, origin)
  process.setUncaughtExceptionCaptureCallback(() => process.setUncaughtExceptionCaptureCallback(null)) // It is reported.
})
