import { benchModel } from './price.ts'

/** Another gateway, started and configured by whoever runs the bench, with the mock upstream behind it. */
export interface Peer {
  readonly name: string
  /** What stands before `/v1`. */
  readonly url: string
  readonly key: string
  readonly model: string
}

/** `name=http://KEY@host:port/prefix#model`; throws on what is none, or named as one of ours. */
export const peerOf = (text: string, taken: readonly string[]): Peer => {
  const [, name, address] = /^([\w.-]+)=(http:\/\/.+)$/.exec(text) ?? []
  if (name === undefined || address === undefined || taken.includes(name))
    throw new Error(`not a peer, name=http://KEY@host:port/prefix#model: ${text}`)
  const { username, hash, origin, pathname } = new URL(address)
  const model = hash === '' ? benchModel : decodeURIComponent(hash.slice(1))
  return { name, url: `${origin}${pathname.replace(/\/$/, '')}`, key: decodeURIComponent(username), model }
}
