import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { createTypeProgram } from '../../support/type-program.ts'

const source = `
import type Anthropic from '@anthropic-ai/sdk'
import type OpenAI from 'openai'
export type chat = OpenAI.ChatCompletionCreateParamsNonStreaming
export type messages = Omit<Anthropic.Beta.MessageCreateParamsNonStreaming, 'betas' | 'user_profile_id' | 'workspace_id'>
export type responses = OpenAI.Responses.ResponseCreateParamsNonStreaming
`

export type SdkRequest = 'chat' | 'messages' | 'responses'

const fileName = fileURLToPath(new URL('sdk-requests.ts', import.meta.url))

export const createProgram = (): ts.Program => createTypeProgram(fileName, source)

const isOwn = (symbol: ts.Symbol): boolean =>
  symbol.declarations?.every((each) => !each.getSourceFile().fileName.includes('/typescript/lib/')) ?? false

/** The constant texts that the member `type` of an object type can have. */
const tagsOf = (checker: ts.TypeChecker, type: ts.Type): readonly string[] => {
  const tag = checker.getPropertyOfType(type, 'type')
  if (tag === undefined) return []
  const tagType = checker.getTypeOfSymbol(tag)
  const parts = tagType.isUnion() ? tagType.types : [tagType]
  return parts.flatMap((part) => (part.isStringLiteral() ? [part.value] : []))
}

class Walk {
  readonly paths = new Set<string>()
  readonly #checker: ts.TypeChecker
  readonly #open = new Set<ts.Type>()

  constructor(checker: ts.TypeChecker) {
    this.#checker = checker
  }

  visit(type: ts.Type, path: string): void {
    if (type.isUnion()) for (const part of type.types) this.visit(part, path)
    else if (this.#checker.isArrayType(type) || this.#checker.isTupleType(type))
      for (const element of this.#checker.getTypeArguments(type as ts.TypeReference)) this.visit(element, `${path}[]`)
    else if (type.flags & ts.TypeFlags.Object || type.isIntersection()) this.#visitObject(type, path)
  }

  #visitObject(type: ts.Type, path: string): void {
    if (this.#open.has(type)) return
    this.#open.add(type)
    const tags = tagsOf(this.#checker, type)
    const places = path.endsWith('[]') && tags.length > 0 ? tags.map((tag) => `${path}<${tag}>`) : [path]
    for (const property of this.#checker.getPropertiesOfType(type).filter(isOwn))
      for (const place of places) {
        const member = `${place}.${property.name}`
        this.paths.add(member)
        this.visit(this.#checker.getTypeOfSymbol(property), member)
      }
    this.#open.delete(type)
  }
}

/** The paths of all members that the types of an official SDK know in a request: `.tools[]<web_search>.filters`. */
export const sdkMembers = (program: ts.Program, request: SdkRequest): readonly string[] => {
  const checker = program.getTypeChecker()
  const module = checker.getSymbolAtLocation(program.getSourceFile(fileName)!)
  const alias = checker.getExportsOfModule(module!).find(({ name }) => name === request)
  const walk = new Walk(checker)
  walk.visit(checker.getDeclaredTypeOfSymbol(alias!), '')
  return [...walk.paths].toSorted()
}
