export interface Delivery {
  readonly deliveries: number
  readonly streamSequence: number
  readonly deliverySequence: number
  /** In milliseconds since the epoch. */
  readonly storedMs: number
  /** Messages still to come, as far as the consumer's server has them. */
  readonly pending: number
}

const nanosecondsDigits = 6

/** `$JS.ACK.[domain.account.]stream.consumer.delivered.streamSequence.deliverySequence.time.pending[.…]` */
export const parseDelivery = (reply: string): Delivery => {
  const tokens = reply.split('.')
  const at = tokens.length === 9 ? 5 : 7
  return {
    deliveries: Number(tokens[at - 1]),
    streamSequence: Number(tokens[at]),
    deliverySequence: Number(tokens[at + 1]),
    storedMs: Number(tokens[at + 2]?.slice(0, -nanosecondsDigits)),
    pending: Number(tokens[at + 3]),
  }
}
