#!/usr/bin/env -S node --min-semi-space-size=8 --max-semi-space-size=64
import module from 'node:module'
import { homedir } from 'node:os'
import { join } from 'node:path'
import v8 from 'node:v8'
import { describeOldNode, version } from './cli/version.ts'

const words = process.argv.slice(2)
const oldNode = describeOldNode(process.versions.node)

/**
 * By default V8 collects the whole heap for every 64 MB of buffers, however soon they die, and marks for 5 ms at each buffer
 * meanwhile: of large bodies and answers that was half of the CPU.
 */
const countBuffersWithHeap = (): void => {
  const isKnown = Number.parseInt(process.versions.node, 10) >= 24
  if (isKnown) v8.setFlagsFromString('--external-memory-accounted-in-global-limit')
}

/**
 * What requests in flight hold dies young: V8's new generation grows to its maximum at once where clients are served. Elsewhere it
 * stays as small as it was started, and so does that of a supervisor, whose processes are started with flags of their own.
 */
const growNewGeneration = (): void => {
  const name = '--semi-space-growth-factor'
  if (process.execArgv.some((flag) => flag.startsWith(name))) return
  const serves = words.includes('serve') && !words.some((word) => word.startsWith('--workers'))
  const isStarted = process.execArgv.some((flag) => flag.startsWith('--min-semi-space-size'))
  if (serves || isStarted) v8.setFlagsFromString(`${name}=${serves ? 64 : 1}`)
}

/** Not Node's own default below /tmp, where another user could have put compiled code. */
const compileCacheFolder = (): string =>
  process.env['NODE_COMPILE_CACHE'] || join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'model-gateway')

if (oldNode !== null) {
  console.error(oldNode)
  process.exitCode = 1
} else if (words.length === 1 && ['--version', '-V'].includes(String(words[0]))) {
  console.log(version)
} else {
  countBuffersWithHeap()
  growNewGeneration()
  module.enableCompileCache(compileCacheFolder())
  const { runCommandLine } = await import('./cli/run.ts')
  await runCommandLine(words)
}
