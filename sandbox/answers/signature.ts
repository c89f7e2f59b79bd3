import { Buffer } from 'node:buffer'
import { createHmac } from 'node:crypto'

export const signatureOf = (text: string): string => createHmac('sha256', 'sandbox').update(text).digest('base64')

/** Opaque to callers, which must return it unchanged. */
export const redactedData = Buffer.from('The sandbox thought what it does not show.').toString('base64')
