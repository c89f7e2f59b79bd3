import { syncBuiltinESMExports } from 'node:module'
import zlib from 'node:zlib'

type Done = (fault: Error | null, result?: Buffer) => void

/** Node compresses in other threads, which are done whenever they are; here it is done at once, and told a turn later. */
const inTurn =
  (work: (bytes: Uint8Array, options?: object) => Buffer) =>
  (bytes: Uint8Array, options: object | Done, callback?: Done): void => {
    const done = callback ?? (options as Done)
    try {
      const result = work(bytes, typeof options === 'function' ? {} : options)
      setImmediate(() => done(null, result))
    } catch (fault) {
      setImmediate(() => done(fault as Error))
    }
  }

Object.assign(zlib, { gzip: inTurn(zlib.gzipSync), gunzip: inTurn(zlib.gunzipSync) })
syncBuiltinESMExports()
