import { exactParserOf, type JsonObject } from '../../encoding/json.ts'
import { JsonScanner } from '../../encoding/scan-json.ts'
import { jsonPieces } from '../../encoding/write-json.ts'
import { GatewayError, invalidValue } from '../../errors/gateway-error.ts'
import { sharedLimits } from '../../runtime/limits.ts'
import { providerLimits } from '../dialect/limits.ts'

const tooLarge = (param: string, what: string): GatewayError =>
  new GatewayError(
    'request_too_large',
    `The arguments of the request's tool calls have more than ${what} in total. Send fewer or smaller calls in one request.`,
    { param },
  )

/** Beside the one that each member counts as, where numbers may be long: they are parsed four times as slowly. */
const weightOfLongNumbers = 3
const shortCharacters = 64 * 1024

/** Parsed, the arguments of all tool calls of a request have the bounds of a body, to which each is one text. */
export class ArgumentBounds {
  readonly #scanner = new JsonScanner({
    depthMax: sharedLimits.jsonDepthMax,
    membersMax: sharedLimits.jsonMembersMax,
    nameCharactersMax: sharedLimits.jsonNameCharactersMax,
    oneNameCharactersMax: sharedLimits.jsonOneNameCharactersMax,
    differentNamesMax: sharedLimits.jsonDifferentNamesMax,
  })
  #characters = 0
  #membersBeside = 0

  /** Throws `request_too_large`, and `invalid_value` for unbounded nesting. */
  check(text: string, path: string): void {
    this.#characters += text.length
    this.#checkLength(0, path)
    const { members: before } = this.#scanner.findings
    this.#scanner.push(Buffer.from(text).toString('latin1'))
    const { members, tooDeep, tooMany, tooManyNames, tooMuchNamed } = this.#scanner.findings
    if (exactParserOf(text) !== JSON.parse) this.#membersBeside += weightOfLongNumbers * (members - before)
    if (tooMany || members + this.#membersBeside > sharedLimits.jsonMembersMax)
      throw tooLarge(path, `${sharedLimits.jsonMembersMax} members and elements`)
    if (tooManyNames) throw tooLarge(path, `${sharedLimits.jsonDifferentNamesMax} different names`)
    if (tooMuchNamed)
      throw tooLarge(
        path,
        `${sharedLimits.jsonNameCharactersMax} characters in names (${sharedLimits.jsonOneNameCharactersMax} in one)`,
      )
    if (tooDeep) throw invalidValue(path, `must not nest deeper than ${sharedLimits.jsonDepthMax} levels`)
  }

  write(given: JsonObject, path: string): string {
    let text = ''
    for (const piece of jsonPieces(given)) {
      text += piece
      this.#checkLength(text.length, path)
    }
    if (text.length > shortCharacters) this.check(text, path)
    else this.#characters += text.length
    return text
  }

  #checkLength(more: number, path: string): void {
    const { argumentCharactersMax } = providerLimits
    if (this.#characters + more > argumentCharactersMax) throw tooLarge(path, `${argumentCharactersMax} characters`)
  }
}
