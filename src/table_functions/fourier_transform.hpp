//===----------------------------------------------------------------------===//
//                         Merganser
//
// table_functions/fourier_transform.hpp
//
// The discrete Fourier transform of any length in O(n log n), for FFT, LOWPASS and HIGHPASS.
//   forward:  X[k] = sum over j of x[j] * exp(-2 pi i j k / n)
//   inverse:  x[j] = 1/n * sum over k of X[k] * exp(2 pi i j k / n)
// Lengths that are powers of two take the radix-2 algorithm (Cooley and Tukey 1965); all other lengths become a
// convolution of a power of two (Bluestein 1970). Angles are reduced modulo the circle in integers, so long transforms
// lose no digits.
//===----------------------------------------------------------------------===//

#pragma once

#include "settings.hpp"

#include <complex>

namespace merganser {

class FourierTransform {
public:
	using Complex = std::complex<double>;

	//! length >= 1
	explicit FourierTransform(idx_t length);

	idx_t Length() const {
		return length;
	}
	//! In place; `data` has the transform's length.
	void Forward(Complex *data) const;
	void Inverse(Complex *data) const;

private:
	void Radix2(Complex *data) const;
	void Bluestein(Complex *data) const;

	idx_t length;
	//! Length of the radix-2 transform underneath.
	idx_t padded;
	//! exp(-2 pi i k / padded) for k < padded / 2
	vector<Complex> roots;
	//! Bluestein only: exp(-pi i k^2 / length), and the transform of the filter made of its conjugates.
	vector<Complex> chirp;
	vector<Complex> filter;
};

} // namespace merganser
