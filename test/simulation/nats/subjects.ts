import type { NatsSubscription } from './client.ts'

export const matchesSubject = (filter: string, subject: string): boolean => {
  if (filter === subject || filter === '>') return true
  const wanted = filter.split('.')
  const found = subject.split('.')
  for (const [at, token] of wanted.entries()) {
    if (token === '>') return found.length > at
    if (at >= found.length || (token !== '*' && token !== found[at])) return false
  }
  return wanted.length === found.length
}

const isPlain = (subject: string): boolean => !/[*>]/.test(subject)

/** `a.b.*`, as inboxes are. */
const isParent = (subject: string): boolean => subject.endsWith('.*') && isPlain(subject.slice(0, -2))

const parentOf = (subject: string): string => `${subject.slice(0, subject.lastIndexOf('.'))}.*`

/** Who wants which subject; found by the subject for the forms that the program uses most. */
export class Interest {
  readonly #bySubject = new Map<string, Set<NatsSubscription>>()
  readonly #others = new Set<NatsSubscription>()

  add(subscription: NatsSubscription): void {
    this.#placeOf(subscription.subject).add(subscription)
  }

  remove(subscription: NatsSubscription): void {
    const { subject } = subscription
    const place = this.#placeOf(subject)
    place.delete(subscription)
    if (place !== this.#others && place.size === 0) this.#bySubject.delete(subject)
  }

  /** In the order of their subscription; of a queue group all members. */
  find(subject: string): readonly NatsSubscription[] {
    return [
      ...(this.#bySubject.get(subject) ?? []),
      ...(this.#bySubject.get(parentOf(subject)) ?? []),
      ...[...this.#others].filter((each) => matchesSubject(each.subject, subject)),
    ]
  }

  #placeOf(subject: string): Set<NatsSubscription> {
    if (!isPlain(subject) && !isParent(subject)) return this.#others
    const place = this.#bySubject.get(subject) ?? new Set()
    this.#bySubject.set(subject, place)
    return place
  }
}
