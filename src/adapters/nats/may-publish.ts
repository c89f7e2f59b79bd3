import type { JetStreamClient } from '@nats-io/jetstream'
import { sharedLimits } from '../../runtime/limits.ts'
import { findPermissionViolation } from './connect.ts'

/** A name that no stream can have: what is published for it is answered, but stored nowhere. */
const noStream = '.'

/**
 * Learns from a message that cannot be stored whether this user may publish on a subject: where it may not, every message would wait for
 * ever. Throws then, with `complaint` and what the server refuses.
 */
export const assertMayPublish = async (client: JetStreamClient, subject: string, complaint: string): Promise<void> => {
  try {
    await client.publish(subject, '', { expect: { streamName: noStream }, timeout: sharedLimits.natsRequestMs })
  } catch (error) {
    const refusal = findPermissionViolation(error)
    if (refusal !== null) throw new Error(`${complaint}: ${refusal.message}`, { cause: error })
  }
}
