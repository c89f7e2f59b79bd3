import type { NatsSubscription } from './client.ts'

const isPlain = (subject: string): boolean => !subject.includes('*') && !subject.includes('>')

/** Of `a.b.>` what is before the last token; null of other filters. */
const prefixOf = (filter: string): string | null =>
  filter.endsWith('.>') && isPlain(filter.slice(0, -1)) ? filter.slice(0, -1) : null

const createMatcher = (filter: string): ((subject: string) => boolean) => {
  if (filter === '>') return () => true
  if (isPlain(filter)) return (subject) => subject === filter
  const prefix = prefixOf(filter)
  if (prefix !== null) return (subject) => subject.length > prefix.length && subject.startsWith(prefix)
  const wanted = filter.split('.')
  const start = filter.slice(0, filter.indexOf('*'))
  return (subject) => {
    if (!subject.startsWith(start)) return false
    if (subject === filter) return true
    const found = subject.split('.')
    for (const [at, token] of wanted.entries()) {
      if (token === '>') return found.length > at
      if (at >= found.length || (token !== '*' && token !== found[at])) return false
    }
    return wanted.length === found.length
  }
}

const matchers = new Map<string, (subject: string) => boolean>()

/** Filters are few: they are read once. */
export const matchesSubject = (filter: string, subject: string): boolean => {
  const known = matchers.get(filter)
  if (known !== undefined) return known(subject)
  const matcher = createMatcher(filter)
  matchers.set(filter, matcher)
  return matcher(subject)
}

/** `a.b.*`, as inboxes are. */
const isParent = (subject: string): boolean => subject.endsWith('.*') && isPlain(subject.slice(0, -2))

const parentOf = (subject: string): string => `${subject.slice(0, subject.lastIndexOf('.'))}.*`

/** Who wants which subject; found by the subject for the forms that the program uses most. */
export class Interest {
  readonly #bySubject = new Map<string, NatsSubscription[]>()
  readonly #others: NatsSubscription[] = []

  add(subscription: NatsSubscription): void {
    this.#placeOf(subscription.subject).push(subscription)
  }

  remove(subscription: NatsSubscription): void {
    const { subject } = subscription
    const place = this.#placeOf(subject)
    const at = place.indexOf(subscription)
    if (at >= 0) place.splice(at, 1)
    if (place !== this.#others && place.length === 0) this.#bySubject.delete(subject)
  }

  /** In the order of their subscription; of a queue group all members. */
  find(subject: string): readonly NatsSubscription[] {
    return [
      ...(this.#bySubject.get(subject) ?? []),
      ...(this.#bySubject.get(parentOf(subject)) ?? []),
      ...this.#others.filter((each) => matchesSubject(each.subject, subject)),
    ]
  }

  #placeOf(subject: string): NatsSubscription[] {
    if (!isPlain(subject) && !isParent(subject)) return this.#others
    const place = this.#bySubject.get(subject) ?? []
    this.#bySubject.set(subject, place)
    return place
  }
}
