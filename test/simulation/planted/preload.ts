import { findPlanted, plant } from './plant.ts'

plant(findPlanted(process.env['PLANTED'] ?? ''))
