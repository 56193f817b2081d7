import { describePrisma } from './support/describe-prisma.js';

describePrisma(6, 'postgresql');
describePrisma(6, 'mysql');
