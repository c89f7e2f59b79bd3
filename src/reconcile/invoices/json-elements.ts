import { type ParsedElementInfo, Tokenizer, TokenizerError, TokenParser, TokenParserError } from '@streamparser/json'
import { isObject } from '../../encoding/json.ts'
import { reconcileLimits } from './limits.ts'

export class JsonFault extends Error {
  override readonly name = 'JsonFault'
}

class ExactTokenizer extends Tokenizer {
  /** Numbers stay as they are written: none passes through a float. The parser takes any value, unlike its types. */
  protected override parseNumber(text: string): number {
    return text as never
  }
}

/** Documents, their members or pages, and the elements of `data` in a page and in a page of an array. */
const paths = ['$', '$.*', '$.data.*', '$.*.data.*']

/**
 * Splits a report as it is read: the elements of `data` in each page. A file may hold several pages, in sequence or in
 * an array; a page's `data` may be one object instead of an array.
 */
export class JsonElements {
  readonly #tokenizer = new ExactTokenizer({ separator: '' })
  readonly #parser = new TokenParser({ paths, separator: '' })
  #elements: unknown[] = []
  #pendingCharacters = 0
  #tokenOffset = 0
  #pages = 0
  #hasMore = false

  constructor() {
    this.#tokenizer.onToken = (token) => {
      this.#parser.write(token)
      this.#tokenOffset = token.offset
    }
    this.#parser.onValue = (found) => this.#onValue(found)
  }

  /** True if the last page announces others after it. */
  get hasMore(): boolean {
    return this.#hasMore
  }

  /** Throws JsonFault. */
  push(text: string): readonly unknown[] {
    this.#pendingCharacters += text.length
    this.#elements = []
    try {
      this.#tokenizer.write(text)
    } catch (fault) {
      if (!(fault instanceof TokenizerError || fault instanceof TokenParserError)) throw fault
      throw new JsonFault(`is no JSON after what begins at byte ${this.#tokenOffset}`, { cause: fault })
    }
    if (this.#pendingCharacters > reconcileLimits.invoiceElementCharactersMax)
      throw new JsonFault(`a part of a page has more than ${reconcileLimits.invoiceElementCharactersMax} characters`)
    return this.#elements
  }

  /** Throws JsonFault if the file ends in the middle of a page, or holds none. */
  end(): void {
    try {
      this.#tokenizer.end()
      this.#parser.end()
    } catch (fault) {
      if (fault instanceof JsonFault) throw fault
      throw new JsonFault('the file ends in the middle of a page', { cause: fault })
    }
    if (this.#pages === 0) throw new JsonFault('the file holds no page of a report')
  }

  #onValue({ value, parent, stack }: ParsedElementInfo): void {
    const isInArray = Array.isArray(parent)
    const isOfArrayOfPages = Array.isArray(stack[1]?.value)
    if (stack.length === 0 && !Array.isArray(value)) this.#addPage(value)
    else if (stack.length === 1 && isInArray) this.#addPage(value)
    else if (isInArray && stack.length === (isOfArrayOfPages ? 3 : 2)) this.#add(value)
    else return
    // What was read is released before its container ends.
    if (isInArray) parent.length = 0
  }

  #addPage(page: unknown): void {
    if (!isObject(page)) throw new JsonFault('the file holds something else than pages of a report')
    if (!Object.hasOwn(page, 'data')) throw new JsonFault('a page has no `data`: it is no page of a report')
    if (isObject(page['data'])) this.#add(page['data'])
    this.#pages += 1
    this.#pendingCharacters = 0
    this.#hasMore = page['has_more'] === true
  }

  #add(element: unknown): void {
    this.#elements.push(element)
    this.#pendingCharacters = 0
  }
}
