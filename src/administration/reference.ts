import { GatewayError } from '../errors/gateway-error.ts'

interface ReferencedInput {
  readonly body: { readonly reference?: string | undefined }
  readonly idempotencyKey?: string | undefined
}

interface ReferenceForm {
  readonly pattern: RegExp
  /** What a reference of that form has, such as `at most 200 characters`. */
  readonly description: string
}

/** The body's, or the header's. Throws `missing_required_parameter` or `invalid_value`. */
export const requireReference = ({ body, idempotencyKey }: ReferencedInput, form: ReferenceForm): string => {
  const { reference = idempotencyKey ?? '' } = body
  if (reference === '')
    throw new GatewayError(
      'missing_required_parameter',
      "Missing required parameter: 'reference', or the header Idempotency-Key in its place.",
      { param: 'reference' },
    )
  if (!form.pattern.test(reference))
    throw new GatewayError('invalid_value', `A reference has ${form.description}.`, { param: 'reference' })
  return reference
}
