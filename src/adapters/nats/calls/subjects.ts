import { buildLogNames } from '../log-stream.ts'

export type Side = 'edge' | 'proxy'

/**
 * Where calls travel. A link's messages go to `<prefix>.<side>.<id of the receiver>.<id of the sender>` and carry the opposite subject for
 * replies: the subject alone tells who speaks to whom, also where the server answers that nobody is there.
 */
export interface CallSubjects {
  /** Openings; proxies share them in one queue group. */
  readonly openings: string
  readonly queueGroup: string
  readonly linkSubject: (side: Side, receiver: string, sender: string) => string
  /** The receiver and the sender that a subject names; null where it is none of ours. */
  readonly parse: (side: Side, subject: string) => { readonly receiver: string; readonly sender: string } | null
}

/** Throws where `log.name` of the configuration is none. */
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

/** An opening awaits its refusal on the subject of its call's number in place of a sender's id. */
export const isCallNumber = (sender: string): boolean => callNumberPattern.test(sender)
