import { buildLogNames } from '../streams.ts'

export type Side = 'edge' | 'proxy'

/** `<prefix>.<side>.<receiver>.<sender>`: identifies both, also in the server's reply that there are no responders. */
export interface CallSubjects {
  /** Openings; proxies share them in one queue group. */
  readonly openings: string
  readonly queueGroup: string
  readonly linkSubject: (side: Side, receiver: string, sender: string) => string
  readonly parse: (side: Side, subject: string) => { readonly receiver: string; readonly sender: string } | null
}

/** `name` is `log.name` of the configuration. Throws when it cannot be a stream's name. */
export const buildCallSubjects = (name: string): CallSubjects => {
  const prefix = buildLogNames(name).stream.toLowerCase()
  return {
    openings: `${prefix}.call`,
    queueGroup: 'proxy',
    linkSubject: (side, receiver, sender) => `${prefix}.${side}.${receiver}.${sender}`,
    parse: (side, subject) => readSubject(`${prefix}.${side}.`, subject),
  }
}

const readSubject = (start: string, subject: string): ReturnType<CallSubjects['parse']> => {
  if (!subject.startsWith(start)) return null
  const [receiver = '', sender = '', ...more] = subject.slice(start.length).split('.')
  return receiver === '' || sender === '' || more.length > 0 ? null : { receiver, sender }
}

const callNumberPattern = /^\d{1,10}$/

/** Refusals of openings arrive on a subject with the call's number in place of a sender's id. */
export const isCallNumber = (sender: string): boolean => callNumberPattern.test(sender)
