import { describePrisma } from './support/describe-prisma.js';

describePrisma(7, 'postgresql');
describePrisma(7, 'mysql');
