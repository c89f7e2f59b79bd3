import type { PricePublished, PriceSheet } from '../../events/types.ts'

export interface PublishedPrice extends PricePublished {
  readonly effectiveFromMs: number
}

/** By public model id, in the order of taking effect; of two from the same instant the later published counts. */
export type PriceBook = Map<string, PublishedPrice[]>

export const publishPrice = (book: PriceBook, published: PricePublished): void => {
  const sheets = book.get(published.model) ?? []
  const price = { ...published, effectiveFromMs: Date.parse(published.effectiveFrom) }
  const after = sheets.findLastIndex((sheet) => sheet.effectiveFromMs <= price.effectiveFromMs)
  book.set(published.model, sheets.toSpliced(after + 1, 0, price))
}

/** A model answers with text or with embeddings, never with both. */
export const isEmbeddingSheet = ({ max_output_tokens }: PriceSheet): boolean => max_output_tokens === 0

/** `atMs`: milliseconds since the epoch. */
export const priceAt = (book: PriceBook, model: string, atMs: number): PublishedPrice | undefined =>
  book.get(model)?.findLast((sheet) => sheet.effectiveFromMs <= atMs)

/** True when publishing this sheet would change nothing: the same sheet already applies from that instant. */
export const isPublished = (book: PriceBook, price: PricePublished): boolean => {
  const effectiveFromMs = Date.parse(price.effectiveFrom)
  const published = book.get(price.model)?.findLast((sheet) => sheet.effectiveFromMs === effectiveFromMs)
  return published?.version === price.version
}
