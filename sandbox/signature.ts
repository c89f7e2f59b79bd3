import { Buffer } from 'node:buffer'
import { createHmac } from 'node:crypto'

/** Proves that the sandbox wrote the text. */
export const signatureOf = (text: string): string => createHmac('sha256', 'sandbox').update(text).digest('base64')

/** What no caller can read, and must give back as it is. */
export const redactedData = Buffer.from('The sandbox thought what it does not show.').toString('base64')
