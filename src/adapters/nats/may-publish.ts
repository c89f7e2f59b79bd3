import type { JetStreamClient } from '@nats-io/jetstream'
import { sharedLimits } from '../../runtime/limits.ts'
import { findPermissionViolation } from './connect.ts'

/** A name that no stream can have: a message that expects it is answered but never stored. */
const noStream = '.'

/** Throws `complaint` with the server's refusal. Without this check every such message would wait for ever. */
export const assertMayPublish = async (client: JetStreamClient, subject: string, complaint: string): Promise<void> => {
  try {
    await client.publish(subject, '', { expect: { streamName: noStream }, timeout: sharedLimits.natsRequestMs })
  } catch (error) {
    const refusal = findPermissionViolation(error)
    if (refusal !== null) throw new Error(`${complaint}: ${refusal.message}`, { cause: error })
  }
}
